# SPDX-License-Identifier: Apache-2.0
# Victims: programs for the tests to work on. Included by the Makefile.

victims:
