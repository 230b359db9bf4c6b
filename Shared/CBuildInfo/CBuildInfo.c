// SPDX-License-Identifier: Apache-2.0
#include "CBuildInfo.h"

// Package.swift defines it, for C only: a definition for Swift has no value.
#ifndef STRATA_COMMIT
#define STRATA_COMMIT
#endif
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(...) TEXT_OF(__VA_ARGS__)

const char *_Nonnull strata_commit(void) { return TEXT(STRATA_COMMIT); }
