// Package secret finds credentials in texts, and replaces them before a text is stored. For example, it turns
// "token ghp_…" into "token [redacted GitHub token]", which names the kind of the credential, but not its value.
//
// It may import nothing of this module.
package secret
