// SPDX-License-Identifier: Apache-2.0
/* What the reports share. Private to profile/report*.c. */
#ifndef PROFILE_REPORT_PRIVATE_H
#define PROFILE_REPORT_PRIVATE_H

#include "profile/report.h"

#define REPORT_AMOUNT_SIZE 32
#define REPORT_NAME_SIZE 17408

/* "12.3M", "-1.50MB", "17". Returns `buf`. */
const char *report_amount(const struct profile_report_options *o, double amount, char *buf,
			  size_t size);
/* "12.3%", and "-" of nothing. Returns `buf`. */
const char *report_percent(double part, double whole, char *buf, size_t size);

/* What it is of, and how much in all: one line. */
void report_head(const struct profile *p, const struct profile_table *g,
		 const struct profile_report_options *o, FILE *out);

/* ERR_OUTPUT when something could not be written. */
int report_written(FILE *out, struct err *err);

#endif
