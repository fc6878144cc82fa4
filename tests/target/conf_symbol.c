// SPDX-License-Identifier: Apache-2.0
/* A program with its own options, as jemalloc's manual suggests. */
const char *malloc_conf = "prof:true,prof_active:false,lg_prof_sample:16";
