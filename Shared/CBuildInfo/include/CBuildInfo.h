// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The version of Strata, such as `0.1.0`. If the build knows the commit, it follows in parentheses, with "-dirty" if
/// files differed from it.
const char *_Nonnull strata_version(void);
