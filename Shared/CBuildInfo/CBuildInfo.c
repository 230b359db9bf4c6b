// SPDX-License-Identifier: Apache-2.0
#include "CBuildInfo.h"

// The version of Strata. scripts/check_version.py, which `make lint` runs, compares other places with this one.
#define VERSION "0.1.0"

// Package.swift defines it, for C only: a definition for Swift has no value.
#ifndef STRATA_COMMIT
#define STRATA_COMMIT
#endif
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define COMMIT TEXT(STRATA_COMMIT)

const char *_Nonnull strata_version(void) { return sizeof COMMIT > 1 ? VERSION " (" COMMIT ")" : VERSION; }
