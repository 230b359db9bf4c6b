// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The commit that was built, with "-dirty" if files differed from it. Empty if the build was not told.
const char *_Nonnull strata_commit(void);
