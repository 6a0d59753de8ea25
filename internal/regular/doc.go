// Package regular reads files that somebody else may have prepared. For example, a file can be a link to a
// private key, a named pipe that never ends, or a link to a kernel file without end. Open follows no link.
// People link to their configuration, so Read follows links, but reads no more bytes than the size of the file.
// Replace replaces a configuration file.
//
// It may import nothing of this module.
package regular
