// SPDX-License-Identifier: Apache-2.0

// An app that imports StrataKit can use ids, key paths of metadata and limits without naming a second module.
@_exported public import StrataModel
