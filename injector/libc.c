// SPDX-License-Identifier: Apache-2.0
#include "injector/libc.h"

#include "base/text.h"
#include "injector/memfd.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

static const struct libc *const known[] = { &libc_glibc, &libc_musl };
#define KNOWN (sizeof(known) / sizeof(*known))

/*
 * getppid() is in every shared C library. A static program contains only what it calls: at least
 * getpid(), which prof_dump() calls to name a file (jemalloc 4.0 to 5.3.1).
 */
const struct checked_call libc_homes[] = {
	{ SYS_getppid, "getppid", USE_THREAD, 0, { 0 } },
	{ SYS_getpid, "getpid", USE_THREAD, 0, { 0 } },
	{ SYS_gettid, "gettid", USE_THREAD, 0, { 0 } },
	{ SYS_getuid, "getuid", USE_THREAD, 0, { 0 } },
	{ SYS_geteuid, "geteuid", USE_THREAD, 0, { 0 } },
	{ SYS_getgid, "getgid", USE_THREAD, 0, { 0 } },
	{ SYS_getegid, "getegid", USE_THREAD, 0, { 0 } },
};
const size_t n_libc_homes = sizeof(libc_homes) / sizeof(*libc_homes);

#define NO_FILE UINT64_MAX
#define HOW_DATA (MAP_PRIVATE | MAP_ANONYMOUS)
#define HOW_FILE (MAP_PRIVATE | MAP_FIXED)
const struct checked_call libc_map_calls[] = {
	{ SYS_memfd_create, "memfd_create", USE_MAP, 0, { 0, MFD_CLOEXEC | MFD_ALLOW_SEALING } },
	{ SYS_write, "write", USE_MAP, 0, { 3 } },
	{ SYS_fcntl, "fcntl", USE_MAP, 0, { 3, F_ADD_SEALS, MEMFD_SEALS } },
	{ SYS_mmap, "mmap", USE_MAP, 0, { 0, 0, PROT_READ | PROT_WRITE, HOW_DATA, NO_FILE } },
	{ SYS_mmap, "mmap", USE_MAP, 0, { 0, 0, PROT_READ | PROT_EXEC, HOW_FILE, 3 } },
	{ SYS_mmap, "mmap", USE_MAP, 0, { 0, 0, PROT_READ | PROT_WRITE, HOW_FILE, 3 } },
	{ SYS_madvise, "madvise", USE_MAP, 0, { 0, 0, MADV_WIPEONFORK } },
	{ SYS_madvise, "madvise", USE_MAP, 0, { 0, 0, MADV_DONTNEED } },
	{ SYS_munmap, "munmap", USE_MAP, 0, { 0 } },
};
const size_t n_libc_map_calls = sizeof(libc_map_calls) / sizeof(*libc_map_calls);

unsigned int libc_number(const struct libc *libc)
{
	unsigned int i = 0;

	while (i < KNOWN - 1 && known[i] != libc)
		i++;
	return i;
}

const struct libc *libc_by_number(uint64_t number)
{
	return number < KNOWN ? known[number] : NULL;
}

bool libc_image_holds_locks(const char *file)
{
	static const char *const names[] = { "ld-linux", "ld.so", "ld-2", "libgcc_s", "libunwind" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (text_begins(file, names[i]))
			return true;
	return false;
}

static bool has(struct image *img, const char *symbol)
{
	struct symbol sym;

	return image_symbol(img, symbol, &sym);
}

/* musl's C library is also its loader. Its name depends on the distribution. */
static bool is_shared_musl(struct image *img)
{
	const char *file = text_file_name(img->path);

	return !img->is_main && (text_begins(file, "ld-musl-") || text_begins(file, "libc.")) &&
	       has(img, "__dls3") && has(img, "__libc_start_main");
}

static bool is_static(const struct image *img)
{
	return img->is_main && !img->has_interp;
}

/* A string that no other C library has identifies a stripped static one. */
static bool has_text(struct image *img, const char *text)
{
	return is_static(img) && image_search(img, PF_R, text, strlen(text) + 1);
}

/* Which C library this image is or contains, or NULL. */
static const struct libc *of_image(struct image *img, bool *stripped)
{
	if (is_shared_musl(img) || (is_static(img) && has(img, MUSL_START_SYMBOL)))
		return &libc_musl;
	if (!img->is_main)
		return NULL;
	if (has(img, "gnu_get_libc_version") || (is_static(img) && has(img, "__libc_start_main")))
		return &libc_glibc;
	*stripped = true;
	if (has_text(img, "GLIBC_TUNABLES"))
		return &libc_glibc;
	if (has_text(img, MUSL_TEXT))
		return &libc_musl;
	*stripped = false;
	return NULL;
}

struct image *libc_find(struct images *images, const struct libc **libc, bool *stripped,
			struct err *err)
{
	struct image *glibc = images_by_name(images, "libc.so.6");

	*stripped = false;
	*libc = &libc_glibc;
	if (!glibc)
		glibc = images_by_name(images, "libc-2.");
	if (glibc)
		return glibc;
	for (size_t i = 0; i < images->n; i++) {
		const struct libc *found = of_image(&images->v[i], stripped);

		if (!found)
			continue;
		*libc = found;
		return &images->v[i];
	}
	err_raise(err, ERROR_LIBC_UNKNOWN);
	err_advise(err, FIX_KNOWN_LIBCS);
	return NULL;
}
