// SPDX-License-Identifier: Apache-2.0
/* The symbols of the installed C library, for programs that compare with it what is known of it. */
#ifndef TESTS_TARGET_SYMBOLS_H
#define TESTS_TARGET_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* `addr` is in this process; `exported` if it is in .dynsym. */
typedef void symbols_fn(const char *name, uint64_t addr, const Elf64_Sym *sym, bool exported);

/* All that the file defines, .dynsym and .symtab; false when it cannot be read. */
bool symbols_each(const char *path, uint64_t base, symbols_fn *fn);

/* Of its debug file, as Debian's packages name it, by build id. */
bool symbols_each_of_debug_file(const struct dl_phdr_info *info, symbols_fn *fn);

/* libc, musl's too, or libpthread, which is a library of its own before glibc 2.34. */
bool symbols_is_libc(const struct dl_phdr_info *info);

#endif
