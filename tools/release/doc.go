// Command release makes the files that users download: for each platform one archive, and a file with the
// checksums of all archives. An archive holds the program, its licences, a list of its components (SBOM),
// shell completions and the manual page.
//
//	go run -C tools ./release            every platform, to dist/release
//	go run -C tools ./release -here      this platform only
//
// The same sources and the same Go make the same bytes.
package main
