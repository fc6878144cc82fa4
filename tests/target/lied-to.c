// SPDX-License-Identifier: Apache-2.0
/* lied-to BOARD [NAME]: links with liar.c's library, takes a name, and then only naps. */
#include "tests/target/victim.h"

#include <stdio.h>
#include <sys/prctl.h>

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: lied-to BOARD [NAME]\n");
		return 2;
	}
	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	victim_open(argv[1]);
	victim_threads(1, victim_rest);
	victim_ready(2);
	victim_rest(NULL);
}
