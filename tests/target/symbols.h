// SPDX-License-Identifier: Apache-2.0
/*
 * The symbols of the installed C library, for programs that compare it with what is known about it.
 */
#ifndef TESTS_TARGET_SYMBOLS_H
#define TESTS_TARGET_SYMBOLS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* `addr` is in this process; `exported` means that it is in .dynsym. */
typedef void symbols_fn(const char *name, uint64_t addr, const Elf64_Sym *sym, bool exported);

/* All symbols that the file defines, in .dynsym and .symtab; false if it cannot be read. */
bool symbols_each(const char *path, uint64_t base, symbols_fn *fn);

/* The symbols of its debug file, which Debian's packages name by build id. */
bool symbols_each_of_debug_file(const struct dl_phdr_info *info, symbols_fn *fn);

/* libc, including musl's, or libpthread, which is a separate library before glibc 2.34. */
bool symbols_is_libc(const struct dl_phdr_info *info);

#endif
