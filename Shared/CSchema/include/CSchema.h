// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// A script of SQL, embedded when this was compiled. Its name and text are part of the program: nothing frees them.
struct StrataScript {
    /// A step's number. 0: a file of functions.
    int version;
    const char *_Nonnull name;
    /// UTF-8, with a NUL at its end.
    const unsigned char *_Nonnull text;
};

/// Scripts in the order in which they are executed.
struct StrataScripts {
    const struct StrataScript *_Nonnull first;
    size_t count;
};

/// The steps: the baseline of `Shared/Schema/Tables`, then those of `Shared/Schema/Steps`.
struct StrataScripts strata_schema_steps(void);
/// The files in `Shared/Schema/Functions`.
struct StrataScripts strata_schema_functions(void);
