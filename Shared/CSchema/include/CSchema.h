// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// A file of SQL, as it was when this was compiled. Its name and bytes are part of the program: nothing frees them.
struct StrataScript {
    /// Of a step; 0: these are functions.
    int version;
    const char *_Nonnull name;
    const void *_Nonnull bytes;
    size_t count;
};

/// Files of SQL, in their order.
struct StrataScripts {
    const struct StrataScript *_Nonnull first;
    size_t count;
};

/// The files in `Shared/Schema/Tables`.
struct StrataScripts strata_schema_steps(void);
/// The files in `Shared/Schema/Functions`.
struct StrataScripts strata_schema_functions(void);
