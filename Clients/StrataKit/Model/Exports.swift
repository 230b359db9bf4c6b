// SPDX-License-Identifier: Apache-2.0

// Apps that import StrataKit can use ids, metadata paths and limits without importing a second module.
@_exported public import StrataModel
