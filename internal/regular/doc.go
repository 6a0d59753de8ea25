// Package regular reads files that somebody else may have prepared. Such a file can be a link to a private key, a named
// pipe that never ends, or a link to a kernel file whose content would fill the memory. Open follows no link. Read
// follows links, because people keep their configuration elsewhere, but reads no more bytes than the size of the file.
// Replace replaces such a configuration.
//
// It may import nothing of this module.
package regular
