// Command release makes what users download: for each platform one archive with
// the program, its licences, a list of what it is made of (SBOM), shell
// completions and the manual page, and beside the archives their checksums.
//
//	go run -C tools ./release            every platform, to dist/release
//	go run -C tools ./release -here      this platform only
//
// The same sources and the same Go make the same bytes.
package main
