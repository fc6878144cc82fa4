// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt.h"

#include "base/cleanup.h"
#include "elf/image_data.h"
#include "elf/image_file.h"
#include "elf/image_head.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_TYPE 3 /* version 3 of the format, since 2010 */
#define NOTES_MAX 65536
#define CODE_MAX 16 /* bytes of an instruction */

/* --- arguments --- */

static bool is_size(int64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* "-4@OPERAND": a signed one of four bytes. */
static bool read_arg(const char **text, struct usdt_arg *arg)
{
	char *end;
	int64_t size = strtoll(*text, &end, 10);

	*arg = (struct usdt_arg){ .is_signed = size < 0 };
	if (size < -8 || size > 8 || *end != '@')
		return false;
	size = size < 0 ? -size : size;
	arg->size = (unsigned char)size;
	*text = end + 1;
	return is_size(size) && arch_read_operand(text, &arg->at);
}

size_t usdt_args(const char *text, struct usdt_arg args[USDT_ARGS_MAX])
{
	size_t n = 0;

	while (n < USDT_ARGS_MAX && read_arg(&text, &args[n])) {
		if (*text && *text != ' ')
			break;
		n++;
		text += strspn(text, " ");
	}
	return n;
}

/* --- notes --- */

struct search {
	struct image *img;
	const char *provider;
	usdt_fn *fn;
	void *ctx;
	size_t misplaced;
};

/* The segment with the byte at `vaddr` in the file, and all of these flags. */
static const struct segment *segment_at(const struct image_head *head, uint64_t vaddr,
					unsigned int flags)
{
	for (size_t i = 0; i < head->n_loads; i++) {
		const struct segment *s = &head->loads[i];

		if ((s->flags & flags) == flags && vaddr >= s->vaddr &&
		    vaddr - s->vaddr < s->filesz)
			return s;
	}
	return NULL;
}

/*
 * A breakpoint in the middle of an instruction, or on one that the program relies on, would be
 * harmful: the notes of a file that was edited are not trusted.
 */
static bool place(const struct search *s, const struct image_head *head, uint64_t pc,
		  uint64_t semaphore, struct usdt_probe *probe)
{
	const struct segment *code = segment_at(head, pc, PF_X);
	const struct segment *data = semaphore ? segment_at(head, semaphore, PF_W) : NULL;
	unsigned char bytes[CODE_MAX] = { 0 };
	ssize_t len;

	if (!code || (semaphore && !data))
		return false;
	probe->offset = code->offset + (pc - code->vaddr);
	probe->semaphore = data ? data->offset + (semaphore - data->vaddr) : 0;
	len = pread(s->img->file->fd, bytes, sizeof(bytes), (off_t)probe->offset);
	return image_head_code_at(head, probe->offset) == pc && len > 0 &&
	       arch_is_nop(bytes, (size_t)len);
}

/* Three addresses, then the names of the provider and the probe, and the arguments. */
static void read_note(struct search *s, const struct image_head *head, uint64_t base,
		      const char *desc, size_t len)
{
	struct {
		uint64_t pc, base, semaphore;
	} at;
	struct usdt_probe probe;
	const char *text[3];

	if (len < sizeof(at))
		return;
	memcpy(&at, desc, sizeof(at));
	desc += sizeof(at);
	len -= sizeof(at);
	for (int i = 0; i < 3; i++) {
		size_t n = strnlen(desc, len);

		if (n == len)
			return;
		text[i] = desc;
		desc += n + 1;
		len -= n + 1;
	}
	if (strcmp(text[0], s->provider) != 0)
		return;
	probe = (struct usdt_probe){ 0 };
	/* prelink(8) moves addresses, but not in notes: the section .stapsdt.base shows how far. */
	if (!place(s, head, at.pc + (base - at.base),
		   at.semaphore ? at.semaphore + (base - at.base) : 0, &probe)) {
		s->misplaced++;
		return;
	}
	probe.n_args = usdt_args(text[2], probe.args);
	s->fn(s->ctx, text[1], &probe);
}

static void read_notes(void *ctx, Elf *elf)
{
	static const char owner[] = "stapsdt";
	struct search *s = ctx;
	struct image_head head;
	GElf_Shdr sh, base;
	GElf_Nhdr note;
	size_t at = 0, name, desc;
	Elf_Scn *scn = image_file_section(elf, NULL, ".note.stapsdt", &sh);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	if (!data || !image_head_read(&head, elf) ||
	    !image_file_section(elf, NULL, ".stapsdt.base", &base))
		return;
	for (int i = 0; i < NOTES_MAX; i++) {
		at = gelf_getnote(data, at, &note, &name, &desc);
		if (!at)
			break;
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(owner) &&
		    !memcmp((char *)data->d_buf + name, owner, sizeof(owner)))
			read_note(s, &head, base.sh_addr, (char *)data->d_buf + desc,
				  note.n_descsz);
	}
}

size_t usdt_each(struct image *img, const char *provider, usdt_fn *fn, void *ctx)
{
	struct search s = { .img = img, .provider = provider, .fn = fn, .ctx = ctx };

	image_with_elf(img, false, read_notes, &s);
	return s.misplaced;
}

static void count(void *ctx, const char *name, const struct usdt_probe *probe)
{
	(void)name, (void)probe;
	++*(size_t *)ctx;
}

bool usdt_in_mapped(pid_t pid, const struct map *map, const char *provider)
{
	_cleanup_(images_fini) struct images images = { 0 };
	struct image_head head;
	struct stat st;
	size_t n = 0;

	if (images_open_mapped(&images, pid, map, &head, &st) != IMAGE_MAPPED_FOUND)
		return false;
	return usdt_each(&images.v[0], provider, count, &n) || n;
}

/* --- as a message --- */

void usdt_pack(const struct usdt_probe *probe, struct pack *p)
{
	pack_u64(p, probe->offset);
	pack_u64(p, probe->semaphore);
	pack_u64(p, probe->n_args);
	for (size_t i = 0; i < probe->n_args; i++) {
		const struct usdt_arg *arg = &probe->args[i];

		pack_u64(p, arg->at.kind);
		pack_u64(p, arg->at.reg);
		pack_u64(p, (uint64_t)arg->at.value);
		pack_u64(p, arg->size);
		pack_u64(p, arg->is_signed);
	}
}

void usdt_unpack(struct usdt_probe *probe, struct unpack *u)
{
	*probe = (struct usdt_probe){ 0 };
	probe->offset = unpack_u64(u);
	probe->semaphore = unpack_u64(u);
	probe->n_args = (size_t)unpack_max(u, USDT_ARGS_MAX);
	for (size_t i = 0; i < probe->n_args; i++) {
		struct usdt_arg *arg = &probe->args[i];

		arg->at.kind = (enum arch_operand_kind)unpack_max(u, ARCH_OPERAND_KINDS - 1);
		arg->at.reg = (unsigned int)unpack_max(u, ARCH_DWARF_REGS - 1);
		arg->at.value = (int64_t)unpack_u64(u);
		arg->size = (unsigned char)unpack_max(u, 8);
		u->bad |= !is_size(arg->size);
		arg->is_signed = unpack_bool(u);
	}
}
