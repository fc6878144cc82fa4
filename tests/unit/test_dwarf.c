// SPDX-License-Identifier: Apache-2.0
/*
 * Debug data made here, tag by tag: qualified names of C++ functions, inlined calls, and trees that
 * no compiler generates. The code is at 0x1000 and above.
 */
#include "symbols/dwarf.h"

#include "profile/profile.h"
#include "symbols/lookup.h"

#include <dwarf.h>
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* --- writing --- */

#define INFO_MAX (1 << 20)

/* An ELF file in memory with one unit. Each entry has its own abbreviation. */
struct made {
	unsigned char info[INFO_MAX], abbrev[65536], line[256];
	size_t n_info, n_abbrev, n_line;
	unsigned int codes;
	char *file; /* the result */
	size_t size;
};

static struct made *made;

static void put(unsigned char *at, size_t *n, uint64_t value, size_t len)
{
	memcpy(at + *n, &value, len);
	*n += len;
}

static void leb(uint64_t value)
{
	do {
		made->abbrev[made->n_abbrev++] = (value & 127) | (value > 127 ? 128 : 0);
		value >>= 7;
	} while (value);
}

/* Add an entry and its abbreviation. The code is below 2^14, and written as LEB128 of two bytes. */
static uint32_t tag(unsigned int name, bool children)
{
	uint32_t at = (uint32_t)made->n_info;
	unsigned int code = ++made->codes;

	put(made->info, &made->n_info, (code & 127) | 128, 1);
	put(made->info, &made->n_info, code >> 7, 1);
	if (made->n_abbrev)
		put(made->abbrev, &made->n_abbrev, 0, 2); /* ends the previous one */
	leb(code);
	leb(name);
	put(made->abbrev, &made->n_abbrev, children, 1);
	return at;
}

static void attr(unsigned int name, unsigned int form)
{
	leb(name);
	leb(form);
}

static void text(unsigned int name, const char *value)
{
	attr(name, DW_FORM_string);
	memcpy(made->info + made->n_info, value, strlen(value) + 1);
	made->n_info += strlen(value) + 1;
}

static void number(unsigned int name, unsigned int form, uint64_t value)
{
	attr(name, form);
	put(made->info, &made->n_info, value,
	    form == DW_FORM_addr || form == DW_FORM_data8 ? 8 : 4);
}

static void code(uint64_t start, uint32_t size)
{
	number(DW_AT_low_pc, DW_FORM_addr, start);
	number(DW_AT_high_pc, DW_FORM_data4, size);
}

static void end(void)
{
	put(made->info, &made->n_info, 0, 1);
}

/* Begin a unit in this language that covers 0x1000 to 0x9000. */
static void begin(unsigned int language)
{
	made = calloc(1, sizeof(*made));
	put(made->info, &made->n_info, 0, 4); /* its length: see finish() */
	put(made->info, &made->n_info, 4, 2);
	put(made->info, &made->n_info, 0, 4);
	put(made->info, &made->n_info, 8, 1);
	tag(DW_TAG_compile_unit, true);
	number(DW_AT_language, DW_FORM_data4, language);
	text(DW_AT_comp_dir, "/src/sub");
	number(DW_AT_stmt_list, DW_FORM_sec_offset, 0);
	code(0x1000, 0x8000);
}

/* Version 4: the files a.cc and /inc/b.h, and lines 10, 11, ... for each 0x10 bytes of code. */
static void put_lines(void)
{
	static const unsigned char head[] = {
		1,   1,	  1,   0,   1,	 13,  0,   1, 1, 1, 1, 0,
		0,   0,	  1,   0,   0,	 1, /* opcode lengths */
		0,			    /* no folders */
		'.', '.', '/', 'a', '.', 'c', 'c', 0, 0, 0, 0, '/',
		'i', 'n', 'c', '/', 'b', '.', 'h', 0, 0, 0, 0, 0,
	};
	unsigned char *l = made->line;
	size_t *n = &made->n_line;

	put(l, n, 0, 4);
	put(l, n, 4, 2);
	put(l, n, sizeof(head), 4);
	memcpy(l + *n, head, sizeof(head));
	*n += sizeof(head);
	put(l, n, 0x020900, 3); /* DW_LNE_set_address */
	put(l, n, 0x1000, 8);
	put(l, n, 0x0903, 2); /* DW_LNS_advance_line: 10 */
	for (int i = 0; i < 16; i++) {
		put(l, n, 1, 1);      /* DW_LNS_copy */
		put(l, n, 0x1002, 2); /* DW_LNS_advance_pc */
		put(l, n, 0x0103, 2); /* the next line */
	}
	put(l, n, 0x010100, 3); /* DW_LNE_end_sequence */
	*(uint32_t *)(void *)l = (uint32_t)*n - 4;
}

/* Assemble the ELF file. */
static Elf *finish(void)
{
	static const char names[] = "\0.debug_info\0.debug_abbrev\0.debug_line\0.shstrtab";
	const struct {
		const void *bytes;
		size_t n;
		unsigned int name, type;
	} parts[] = {
		{ made->info, made->n_info, 1, SHT_PROGBITS },
		{ made->abbrev, made->n_abbrev + 3, 13, SHT_PROGBITS },
		{ made->line, made->n_line, 27, SHT_PROGBITS },
		{ names, sizeof(names), 39, SHT_STRTAB },
	};
	Elf64_Ehdr *eh;
	Elf64_Shdr *sh;

	*(uint32_t *)(void *)made->info = (uint32_t)made->n_info - 4;
	made->size = sizeof(*eh) + 5 * sizeof(*sh);
	for (size_t i = 0; i < 4; i++)
		made->size += parts[i].n;
	made->file = calloc(1, made->size);
	eh = (void *)made->file;
	*eh = (Elf64_Ehdr){ .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB, EV_CURRENT },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = EV_CURRENT,
			    .e_shoff = sizeof(*eh),
			    .e_ehsize = sizeof(*eh),
			    .e_shentsize = sizeof(*sh),
			    .e_shnum = 5,
			    .e_shstrndx = 4 };
	sh = (void *)(eh + 1);
	made->size = sizeof(*eh) + 5 * sizeof(*sh);
	for (size_t i = 0; i < 4; i++) {
		sh[i + 1] = (Elf64_Shdr){ .sh_name = parts[i].name,
					  .sh_type = parts[i].type,
					  .sh_offset = made->size,
					  .sh_size = parts[i].n,
					  .sh_addralign = 1 };
		memcpy(made->file + made->size, parts[i].bytes, parts[i].n);
		made->size += parts[i].n;
	}
	elf_version(EV_CURRENT);
	return elf_memory(made->file, made->size);
}

/* --- lookup --- */

/*
 * The functions at `place`, innermost first: "file:line name < file:line name", or "" if unknown.
 * `symbol` is the name of all code in the symbol table, or NULL for none.
 */
static const char *at(uint64_t place, const char *symbol, bool *split)
{
	static char result[65536];
	struct symbols_lookup *l = symbols_lookup_new(&place, 1);
	struct profile_symbols *s;
	Elf *elf = finish();
	size_t n = 0;

	*result = '\0';
	if (symbol)
		symbols_lookup_symbol(l, symbol, 0x1000, 0x8000, SYMBOLS_RANK_PLAIN, NULL);
	symbols_lookup_dwarf(l, elf, NULL, 0);
	if (split)
		*split = symbols_lookup_is_split(l);
	s = symbols_lookup_take(l, 0);
	for (uint32_t i = 0; i < s->locations[0].n; i++) {
		const struct profile_line *line = &s->lines[s->locations[0].first + i];
		const struct profile_function *f = &s->functions[line->function];

		n += (size_t)snprintf(result + n, sizeof(result) - n, "%s%s:%u %s", i ? " < " : "",
				      f->file ? f->file : "?", line->line, f->name);
	}
	profile_symbols_free(s);
	symbols_lookup_free(l);
	elf_end(elf);
	free(made->file);
	return result;
}

static void expect(uint64_t place, const char *symbol, const char *want)
{
	assert_string_equal(at(place, symbol, NULL), want);
	free(made);
}

/* --- tests --- */

static void named(unsigned int what, const char *name)
{
	tag(what, true);
	if (name)
		text(DW_AT_name, name);
}

static void function(const char *name, uint64_t start)
{
	named(DW_TAG_subprogram, name);
	code(start, 0x10);
}

static void test_lines(void **state)
{
	(void)state;
	begin(DW_LANG_C99);
	put_lines();
	function("f", 0x1030);
	end();
	end();
	assert_string_equal(at(0x1035, NULL, NULL), "/src/sub/../a.cc:13 f");
	/* The symbol table distinguishes a part of a function from the whole function. */
	assert_string_equal(at(0x1035, "f.part.0", NULL), "/src/sub/../a.cc:13 f.part.0");
	expect(0x1035, "fx.part.0", "/src/sub/../a.cc:13 f");
}

/* Namespaces and classes, including anonymous ones. */
static void test_scopes(void **state)
{
	(void)state;
	begin(DW_LANG_C_plus_plus_11);
	named(DW_TAG_namespace, "outer");
	named(DW_TAG_namespace, NULL);
	named(DW_TAG_structure_type, "S");
	named(DW_TAG_union_type, NULL);
	function("f", 0x1000);
	for (int i = 0; i < 6; i++)
		end();
	expect(0x1000, NULL, "?:0 outer::(anonymous namespace)::S::(anonymous class)::f");
	/* C has none. */
	begin(DW_LANG_C11);
	named(DW_TAG_namespace, "outer");
	function("f", 0x1000);
	for (int i = 0; i < 3; i++)
		end();
	expect(0x1000, NULL, "?:0 f");
}

/* A definition that is separate from its declaration, which has the scope. */
static void test_specification(void **state)
{
	uint32_t declared;

	(void)state;
	begin(DW_LANG_C_plus_plus_14);
	named(DW_TAG_class_type, "C");
	declared = tag(DW_TAG_subprogram, false);
	text(DW_AT_name, "m");
	end();
	tag(DW_TAG_subprogram, false);
	number(DW_AT_specification, DW_FORM_ref4, declared);
	code(0x1000, 0x10);
	end();
	expect(0x1008, NULL, "?:0 C::m");
	/* The symbol table adds the parameters. A linkage name has everything. */
	begin(DW_LANG_C_plus_plus_14);
	function("m", 0x1000);
	end();
	end();
	expect(0x1008, "_ZN1C1mEi", "?:0 C::m(int)");
	begin(DW_LANG_C_plus_plus_14);
	named(DW_TAG_class_type, "Other");
	function("m", 0x1000);
	text(DW_AT_linkage_name, "_ZN1C1mEi");
	end();
	end();
	end();
	expect(0x1008, "m.part.0", "?:0 C::m(int)");
}

/*
 * Methods of classes inside functions, `levels` deep. The outermost function may have a linkage
 * name.
 */
static void expect_local(int levels, const char *linkage, const char *want)
{
	uint32_t declared;

	begin(DW_LANG_C_plus_plus_14);
	named(DW_TAG_namespace, "n");
	for (int i = 0; i < levels; i++) {
		named(DW_TAG_subprogram, "g");
		if (linkage && !i)
			text(DW_AT_linkage_name, linkage);
		named(DW_TAG_lexical_block, NULL);
		named(DW_TAG_structure_type, "L");
	}
	declared = tag(DW_TAG_subprogram, false);
	text(DW_AT_name, "f");
	for (int i = 0; i < 3 * levels + 1; i++)
		end();
	tag(DW_TAG_subprogram, false);
	number(DW_AT_specification, DW_FORM_ref4, declared);
	code(0x1000, 0x10);
	end();
	expect(0x1000, NULL, want);
}

static void test_local(void **state)
{
	(void)state;
	expect_local(0, NULL, "?:0 n::f");
	expect_local(1, NULL, "?:0 n::g()::L::f");
	expect_local(1, "_ZN1n1gEi", "?:0 n::g(int)::L::f");
	expect_local(3, NULL, "?:0 n::g()::L::g()::L::g()::L::f");
	/* Deeper nesting is not searched. */
	expect_local(9, NULL, "?:0 f");
}

/* f() is inlined into g() at b.h:7, and g() into h() at a.cc:9. */
static void test_inlined(void **state)
{
	uint32_t f, g;

	(void)state;
	begin(DW_LANG_C99);
	put_lines();
	f = tag(DW_TAG_subprogram, false);
	text(DW_AT_name, "f");
	g = tag(DW_TAG_subprogram, false);
	text(DW_AT_name, "g");
	named(DW_TAG_subprogram, "h");
	code(0x1000, 0x40);
	tag(DW_TAG_lexical_block, true);
	code(0x1000, 0x40);
	tag(DW_TAG_inlined_subroutine, true);
	number(DW_AT_abstract_origin, DW_FORM_ref4, g);
	number(DW_AT_call_file, DW_FORM_data4, 1);
	number(DW_AT_call_line, DW_FORM_data4, 9);
	code(0x1010, 0x20);
	tag(DW_TAG_inlined_subroutine, true);
	number(DW_AT_abstract_origin, DW_FORM_ref4, f);
	number(DW_AT_call_file, DW_FORM_data4, 2);
	number(DW_AT_call_line, DW_FORM_data4, 7);
	code(0x1020, 0x10);
	for (int i = 0; i < 5; i++)
		end();
	assert_string_equal(at(0x1008, NULL, NULL), "/src/sub/../a.cc:10 h");
	assert_string_equal(at(0x1018, NULL, NULL), "/src/sub/../a.cc:11 g < /src/sub/../a.cc:9 h");
	expect(0x1028, NULL, "/src/sub/../a.cc:12 f < /inc/b.h:7 g < /src/sub/../a.cc:9 h");
}

/* A call from an invalid file and line. A call without a name makes the whole entry unusable. */
static void test_bad_calls(void **state)
{
	(void)state;
	for (int named_call = 0; named_call < 2; named_call++) {
		begin(DW_LANG_C99);
		put_lines();
		named(DW_TAG_subprogram, "h");
		code(0x1000, 0x40);
		tag(DW_TAG_inlined_subroutine, true);
		if (named_call)
			text(DW_AT_name, "f");
		number(DW_AT_call_file, DW_FORM_data4, 3);
		number(DW_AT_call_line, DW_FORM_data4, UINT32_MAX);
		code(0x1000, 0x40);
		for (int i = 0; i < 3; i++)
			end();
		expect(0x1008, "table", named_call ? "/src/sub/../a.cc:10 f < ?:0 h" : "?:0 table");
	}
}

/*
 * Tells apart functions with the same name. The path is simplified, since units use different ones.
 */
static void test_identity(void **state)
{
	static const struct {
		uint32_t file, line;
		const char *want;
	} cases[] = {
		{ 1, 5, "/src/a.cc" },
		{ 2, 4000000000, "/inc/b.h" },
		{ 3, 5, "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const uint64_t place = 0x1000;
		struct symbols_lookup *l = symbols_lookup_new(&place, 1);
		struct profile_symbols *s;
		Elf *elf;

		begin(DW_LANG_C_plus_plus);
		put_lines();
		function("f", 0x1000);
		number(DW_AT_decl_file, DW_FORM_data4, cases[i].file);
		number(DW_AT_decl_line, DW_FORM_data4, cases[i].line);
		end();
		end();
		elf = finish();
		assert_true(symbols_has_dwarf(elf));
		assert_true(symbols_lookup_dwarf(l, elf, NULL, 0));
		s = symbols_lookup_take(l, 0);
		assert_int_equal(s->n_functions, 1);
		assert_string_equal(s->functions[0].origin ? s->functions[0].origin : "",
				    cases[i].want);
		assert_int_equal(s->functions[0].origin_at, *cases[i].want ? cases[i].line : 0);
		assert_false(s->functions[0].from_image);
		assert_true(s->functions[0].bare);
		profile_symbols_free(s);
		symbols_lookup_free(l);
		elf_end(elf);
		free(made->file);
		free(made);
	}
}

/* The line program claims to be longer than the limit, so the unit is not read. */
static void test_long_program(void **state)
{
	(void)state;
	begin(DW_LANG_C99);
	put_lines();
	function("f", 0x1000);
	end();
	end();
	*(uint32_t *)(void *)made->line = (32u << 20) + 1;
	expect(0x1000, "table", "?:0 table");
}

/* Split debug data: inlined calls are in another file. */
static void test_split(void **state)
{
	bool split;

	(void)state;
	begin(DW_LANG_C99);
	text(DW_AT_GNU_dwo_name, "a.dwo");
	put_lines();
	function("f", 0x1000);
	end();
	end();
	assert_string_equal(at(0x1000, "table", &split), "/src/sub/../a.cc:10 f");
	assert_true(split);
	assert_string_equal(at(0x9000, "table", &split), "");
	assert_false(split);
	free(made);
}

/* Inlined calls nested more deeply than by any compiler. */
static void test_deep(void **state)
{
	enum { DEEP = 5000 };

	(void)state;
	begin(DW_LANG_C99);
	named(DW_TAG_subprogram, "h");
	code(0x1000, 0x40);
	for (int i = 0; i < DEEP; i++) {
		tag(DW_TAG_inlined_subroutine, true);
		text(DW_AT_name, "f");
		code(0x1000, 0x40);
	}
	for (int i = 0; i < DEEP + 2; i++)
		end();
	assert_int_equal(strncmp(at(0x1000, NULL, NULL), "?:0 f < ?:0 f < ", 16), 0);
	free(made);
	begin(DW_LANG_C_plus_plus);
	for (int i = 0; i < DEEP; i++)
		named(DW_TAG_namespace, "a_name_that_makes_it_longer_than_any");
	function("f", 0x1000);
	for (int i = 0; i < DEEP + 2; i++)
		end();
	expect(0x1000, NULL, "");
}

/*
 * Truncated after each byte, and with each bit flipped: the lookup always ends, with names or
 * without.
 */
static void test_broken(void **state)
{
	uint32_t declared;
	size_t n_info, n_abbrev;

	(void)state;
	begin(DW_LANG_C_plus_plus);
	put_lines();
	named(DW_TAG_class_type, "C");
	declared = tag(DW_TAG_subprogram, false);
	text(DW_AT_name, "m");
	end();
	tag(DW_TAG_subprogram, true);
	number(DW_AT_specification, DW_FORM_ref4, declared);
	code(0x1000, 0x10);
	tag(DW_TAG_inlined_subroutine, false);
	number(DW_AT_abstract_origin, DW_FORM_ref4, declared);
	code(0x1000, 0x10);
	end();
	end();
	n_info = made->n_info;
	n_abbrev = made->n_abbrev;
	for (size_t i = 11; i < n_info; i++) {
		made->n_info = i;
		at(0x1008, NULL, NULL);
		made->n_info = n_info;
		for (int bit = 0; bit < 8; bit++) {
			made->info[i] ^= 1 << bit;
			at(0x1008, NULL, NULL);
			made->info[i] ^= 1 << bit;
		}
	}
	for (size_t i = 0; i < n_abbrev * 8; i++) {
		made->abbrev[i / 8] ^= 1 << i % 8;
		at(0x1008, NULL, NULL);
		made->abbrev[i / 8] ^= 1 << i % 8;
	}
	for (size_t i = 0; i < made->n_line * 8; i++) {
		made->line[i / 8] ^= 1 << i % 8;
		at(0x1008, NULL, NULL);
		made->line[i / 8] ^= 1 << i % 8;
	}
	expect(0x1008, NULL, "/src/sub/../a.cc:10 C::m < ?:0 C::m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),	      cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_specification), cmocka_unit_test(test_local),
		cmocka_unit_test(test_inlined),	      cmocka_unit_test(test_bad_calls),
		cmocka_unit_test(test_split),	      cmocka_unit_test(test_deep),
		cmocka_unit_test(test_broken),	      cmocka_unit_test(test_identity),
		cmocka_unit_test(test_long_program),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
