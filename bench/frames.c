// SPDX-License-Identifier: Apache-2.0
/*
 * frames PID RECORDS [TWIN]: walk the stacks that bench/looked.c has recorded in RECORDS, of
 * threads of the running process PID. libdw walks them with all available debug data: its unwinder
 * and its names are not those by which jeprof-ctl decides. TWIN is the program with symbols, if it
 * was stripped. Prints a line of JSON for each record; frames are [file, function], innermost
 * first.
 */
#include "bench/looked.h"

#include <elfutils/libdwfl.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRAMES_MAX 256
#define STACK_REG 7

static struct looked now;
static unsigned char stack[LOOKED_STACK_MAX];
static const char *twin;
static char program[4096];
static unsigned int n_frames;
static uint64_t root_sp; /* the stack pointer of the outermost frame */

static int find_elf(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
		    char **file, Elf **elf)
{
	if (!twin || strcmp(name, program) != 0)
		return dwfl_linux_proc_find_elf(module, userdata, name, base, file, elf);
	*file = strdup(twin);
	return open(twin, O_RDONLY | O_CLOEXEC);
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	int mem = *(int *)arg;

	(void)dwfl;
	if (addr - now.stack < LOOKED_STACK_MAX) {
		if (addr - now.stack + sizeof(*word) > now.stack_len)
			return false;
		memcpy(word, stack + (addr - now.stack), sizeof(*word));
		return true;
	}
	return pread(mem, word, sizeof(*word), (off_t)addr) == sizeof(*word);
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	(void)dwfl;
	if (*thread)
		return 0;
	*thread = arg;
	return (pid_t)now.tid;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	(void)arg;
	return dwfl_thread_state_registers(thread, 0, LOOKED_REGS, now.regs);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; text && *text; text++)
		if ((unsigned char)*text >= ' ' && *text != '"' && *text != '\\')
			putchar(*text);
	putchar('"');
}

static int print_frame(Dwfl_Frame *frame, void *arg)
{
	const char *file = NULL, *function = NULL;
	Dwfl_Module *module;
	Dwarf_Addr pc;
	bool activation;

	if (!dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	if (!activation)
		pc--;
	dwfl_frame_reg(frame, STACK_REG, &root_sp);
	module = dwfl_addrmodule(arg, pc);
	if (module) {
		GElf_Off offset;
		GElf_Sym symbol;

		file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		function = dwfl_module_addrinfo(module, pc, &offset, &symbol, NULL, NULL, NULL);
		if (!function) /* it was not called from there: makecontext(3) wrote the address */
			function = dwfl_module_addrinfo(module, pc + 1, &offset, &symbol, NULL,
							NULL, NULL);
	}
	printf("%s[", n_frames ? ", " : "");
	print_text(file);
	printf(", ");
	print_text(function);
	printf("]");
	return ++n_frames < FRAMES_MAX ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void print_record(Dwfl *dwfl)
{
	n_frames = 0;
	root_sp = now.regs[STACK_REG];
	printf("{\"tid\": %lld, \"nr\": %lld, \"sp\": %llu, \"reason\": ", (long long)now.tid,
	       (long long)now.nr, (unsigned long long)now.regs[STACK_REG]);
	print_text(now.reason);
	printf(", \"frames\": [");
	dwfl_getthread_frames(dwfl, (pid_t)now.tid, print_frame, dwfl);
	printf("], \"root_sp\": %llu}\n", (unsigned long long)root_sp);
}

int main(int argc, char **argv)
{
	static const Dwfl_Thread_Callbacks threads = { .next_thread = next_thread,
						       .memory_read = read_word,
						       .set_initial_registers = set_registers };
	char *debug_path = NULL, path[64];
	const Dwfl_Callbacks callbacks = { .find_elf = find_elf,
					   .find_debuginfo = dwfl_standard_find_debuginfo,
					   .debuginfo_path = &debug_path };
	FILE *records = argc > 2 ? fopen(argv[2], "re") : NULL;
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	ssize_t len;
	int mem;

	twin = argc > 3 ? argv[3] : NULL;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	len = readlink(path, program, sizeof(program) - 1);
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (!records || !dwfl || len < 0 || mem < 0 || dwfl_linux_proc_report(dwfl, pid) ||
	    dwfl_report_end(dwfl, NULL, NULL) ||
	    !dwfl_attach_state(dwfl, NULL, pid, &threads, &mem)) {
		fprintf(stderr, "frames: cannot look at process %d: %s\n", pid, dwfl_errmsg(-1));
		return 1;
	}
	while (fread(&now, sizeof(now), 1, records) == 1) {
		if (now.magic != LOOKED_MAGIC || now.stack_len > sizeof(stack) ||
		    fread(stack, 1, now.stack_len, records) != now.stack_len)
			return 1;
		print_record(dwfl);
	}
	dwfl_end(dwfl);
	return 0;
}
