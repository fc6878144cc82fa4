// SPDX-License-Identifier: Apache-2.0
/* A program that brings its options along, as jemalloc's manual suggests. */
const char *malloc_conf = "prof:true,prof_active:false,lg_prof_sample:16";
