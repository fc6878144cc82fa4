// SPDX-License-Identifier: Apache-2.0
/* The image that is mapped into targets. */
#include "sampler/sampler.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "sampler/offsets.h"

#include <gelf.h>
#include <libelf.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void get_image(unsigned char **image, size_t *len)
{
	struct err err = ERR_INIT;

	assert_int_equal(sampler_image(image, len, &err), 0);
}

static void test_tables(void **unused)
{
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	const struct sampler_tables *t;
	const double one = 1 << SAMPLER_SHIFT;
	double sum = 0, squares = 0;
	size_t len;

	(void)unused;
	get_image(&image, &len);
	t = (const struct sampler_tables *)(image + OFFSET_OF_sampler_tables);
	for (int i = 0; i < SAMPLER_GAPS; i++) {
		sum += t->gaps[i] / one;
		squares += t->gaps[i] / one * (t->gaps[i] / one);
	}
	assert_true(fabs(sum / SAMPLER_GAPS - 1) < 0.001);
	assert_true(fabs(squares / SAMPLER_GAPS - 2) < 0.02); /* that of an exponential one */
	assert_int_equal(t->weights[0], one);
	for (int i = 1; i <= SAMPLER_WEIGHTS; i++) {
		double x = (double)i / SAMPLER_WEIGHT_STEPS;

		assert_true(fabs(t->weights[i] / one - x / (1 - exp(-x))) < 1 / one);
	}
}

static void test_image_is_the_same(void **unused)
{
	_cleanup_(cleanup_free) unsigned char *image = NULL, *again = NULL;
	size_t len, len_again;

	(void)unused;
	get_image(&image, &len);
	get_image(&again, &len_again);
	assert_int_equal(len, len_again);
	assert_memory_equal(image, again, len);
	for (size_t i = SAMPLER_STATE; i < SAMPLER_DATA; i++)
		assert_int_equal(image[i], 0);
}

/* A SystemTap note: three addresses, then three strings. */
static void check_note(const char *desc, uint64_t location, uint64_t semaphore, const char *name)
{
	uint64_t at[3];
	const char *provider = desc + sizeof(at);

	memcpy(at, desc, sizeof(at));
	assert_int_equal(at[0], location);
	assert_int_equal(at[2], semaphore);
	assert_string_equal(provider, "otel_memory");
	assert_string_equal(provider + strlen(provider) + 1, name);
}

static Elf_Data *find_notes(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((scn = elf_nextscn(elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) &&
		    !strcmp(elf_strptr(elf, names, shdr.sh_name), ".note.stapsdt"))
			return elf_getdata(scn, NULL);
	return NULL;
}

static void test_probes_are_noted(void **unused)
{
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	size_t len, at = 0, name, desc;
	const struct sampler_offsets *o = &sampler_offsets;
	GElf_Nhdr note;
	Elf_Data *notes;
	Elf *elf;

	(void)unused;
	get_image(&image, &len);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, len);
	assert_non_null(elf);
	notes = find_notes(elf);
	assert_non_null(notes);
	at = gelf_getnote(notes, at, &note, &name, &desc);
	assert_int_not_equal(at, 0);
	check_note((char *)notes->d_buf + desc, o->alloc_probe, o->alloc_semaphore, "alloc");
	at = gelf_getnote(notes, at, &note, &name, &desc);
	assert_int_not_equal(at, 0);
	check_note((char *)notes->d_buf + desc, o->free_probe, o->free_semaphore, "free");
	assert_int_equal(gelf_getnote(notes, at, &note, &name, &desc), 0);
	elf_end(elf);
}

/* Probes that only hold the semaphores are in unreachable code. */
static void test_holds_are_not_executed(void **unused)
{
	static const unsigned char nop_ud2[] = { 0x90, 0x0f, 0x0b };
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	const struct sampler_offsets *o = &sampler_offsets;
	size_t len;

	(void)unused;
	get_image(&image, &len);
	assert_int_not_equal(o->alloc_hold, o->free_hold);
	assert_memory_equal(image + o->alloc_hold, nop_ud2, sizeof(nop_ud2));
	assert_memory_equal(image + o->free_hold, nop_ud2, sizeof(nop_ud2));
}

/* File offsets are equal to addresses, and no segment is both writable and executable. */
static void test_layout(void **unused)
{
	_cleanup_(cleanup_free) unsigned char *image = NULL;
	GElf_Phdr p;
	size_t len, n;
	Elf *elf;

	(void)unused;
	get_image(&image, &len);
	assert_true(len >= SAMPLER_DATA);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)image, len);
	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (int i = 0; i < (int)n; i++) {
		assert_non_null(gelf_getphdr(elf, i, &p));
		assert_int_not_equal(p.p_type, PT_DYNAMIC);
		assert_int_not_equal(p.p_type, PT_INTERP);
		if (p.p_type != PT_LOAD)
			continue;
		assert_int_equal(p.p_offset, p.p_vaddr);
		assert_int_not_equal(p.p_flags & (PF_W | PF_X), PF_W | PF_X);
		assert_true(p.p_vaddr + p.p_memsz <= SAMPLER_DATA);
	}
	elf_end(elf);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_image_is_the_same),
		cmocka_unit_test(test_probes_are_noted),
		cmocka_unit_test(test_holds_are_not_executed),
		cmocka_unit_test(test_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
