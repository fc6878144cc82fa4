// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"
#include "base/own_limits.h"
#include "base/pace.h"
#include "cli/commands.h"
#include "cli/fixes.h"
#include "cli/out.h"
#include "cli/several.h"
#include "process/hierarchy.h"
#include "process/room.h"
#include "sandbox/confined.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/*
 * If a standard descriptor is closed, the next file opened would get its number, and our output:
 * fill the gap with a descriptor that cannot be written.
 */
static void fill_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Measured, as charged to the group: 8 MiB for `list`, 4 MiB for others with a small target. */
#define MEMORY_LEFT ((uint64_t)32 << 20)

/* Measured: 60 MiB for `record`, 10 in each of up to 6 processes for others. */
#define COMMIT_LEFT ((uint64_t)96 << 20)

/* Measured: at most 9 at a time with one target; `record` needs two for each further one. */
#define TASKS_LEFT ((uint64_t)32)

/* No process of ours takes more than half of what is left, which must be this much. */
static int take_half(const struct room *room, uint64_t need, enum error id, enum fix fix,
		     struct err *err)
{
	/* Two may be large at once: one has a profile, the other debug data. */
	confined_limit_memory(room->left / 2);
	if (room->left >= need)
		return 0;
	err_raise(err, id, .size = (int64_t)room->left, .max = (int64_t)room->limit,
		  .name = room->name, .need = (int64_t)need);
	return err_advise(err, fix);
}

static int check_commit(struct err *err)
{
	struct room room;

	if (!room_to_commit(&room))
		return 0;
	return take_half(&room, COMMIT_LEFT, ERROR_OWN_COMMIT_FULL, FIX_RAISE_COMMIT_LIMIT, err);
}

/*
 * With `docker exec`, our control groups are those of the target; tasks of the same user count
 * towards the same RLIMIT_NPROC.
 */
static int check_own_limits(struct err *err)
{
	struct proc self = { .pid = getpid() };
	struct err ignored;
	struct room room;

	if (!proc_thread_status(self.pid, 0, &self.status, &ignored) &&
	    room_left(ROOM_TASKS, &self, &room) && room.left < TASKS_LEFT) {
		err_raise(err, ERROR_OWN_TASKS_FULL, .number = (int64_t)room.left,
			  .limit = (int64_t)room.limit, .name = room.name,
			  .count = (int64_t)TASKS_LEFT);
		return err_advise(err,
				  room.of_group ? FIX_RUN_IN_ANOTHER_GROUP : FIX_RAISE_THAT_LIMIT);
	}
	if (!room_left(ROOM_MEMORY, &self, &room))
		return 0;
	return take_half(&room, MEMORY_LEFT, ERROR_OWN_GROUP_FULL, FIX_RUN_IN_ANOTHER_GROUP, err);
}

static int run_command(const struct args *args, const struct command *command, struct err *err)
{
	/* First, as own_limits_take() commits 32 MiB for a moment. */
	if (check_commit(err) || own_limits_take(err))
		return -1;
	/* One that waits for trouble has to outlive it. */
	if (!command->stays)
		own_limits_die_first();
	hierarchies_join();
	if (check_own_limits(err))
		return -1;
	if (command->run_several && several_meant(args) && !args->conf)
		return several_run(command, args, err);
	return command->run(args, err);
}

static int run(const struct args *args, const struct command *command, struct err *err)
{
	int ret;

	if (args->help)
		ret = command ? help_command(command, err) : help_all(err);
	else if (args->version)
		ret = cmd_version.run(args, err);
	else if (command && command->only_prints)
		ret = command->run(args, err);
	else if (command)
		ret = run_command(args, command, err);
	else
		return err_raise(err, ERROR_COMMAND_MISSING), err_advise(err, FIX_SEE_HELP);
	return ret >= 0 && out_flush(err) ? -1 : ret;
}

int main(int argc, char **argv)
{
	const struct command *command = NULL;
	struct err err = ERR_INIT;
	struct args args;
	int ret;

	pace(); /* after all the loader's work */
	fill_standard_fds();
	api_words(fix_text);
	/* Handle a closed pipe and a file that is too large as errors, rather than die half-way. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (args_parse(argc, argv, &args, &command, &err))
		return out_error(&args, &err);
	ret = run(&args, command, &err);
	/* ERR_LOST stays: a limit of ours does not explain what happened in the target. */
	if (ret < 0 && err.code != ERR_LOST)
		err_explain(&err);
	return ret < 0 ? out_error(&args, &err) : ret;
}
