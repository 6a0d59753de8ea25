// Package secret finds credentials in texts, and replaces them before a text is stored. For example, it turns
// "token ghp_…" into "token [redacted GitHub token]": the finding is named, its value never.
//
// It may import nothing of this module.
package secret
