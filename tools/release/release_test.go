package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The archive must contain all files that are shipped with the program, and the program in it must run.
func TestReleaseIsComplete(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the archive is a zip there")
	}
	out := t.TempDir()
	if err := release("../..", out, true); err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(out, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("archives: %v (%v)", archives, err)
	}
	content, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	digest := sha256.Sum256(content)
	if want := hex.EncodeToString(digest[:]) + "  " + filepath.Base(archives[0]) + "\n"; err != nil || string(sums) != want {
		t.Errorf("SHA256SUMS holds %q (%v), want %q", sums, err, want)
	}

	files := unpack(t, content)
	for name, part := range map[string]string{
		"LICENSE": "MIT", "README.md": "magicctx", "NOTICES.txt": "github.com/ncruces/go-sqlite3 v",
		"man/magicctx-host.1": ".TH MAGICCTX-HOST 1", "magicctx.schema.json": "protected_tags",
		"completions/magicctx-host.bash": "complete ", "completions/_magicctx-host": "#compdef", "completions/magicctx-host.fish": "complete -c",
	} {
		if !strings.Contains(string(files[name]), part) {
			t.Errorf("%s (%d bytes) does not hold %q", name, len(files[name]), part)
		}
	}
	if !strings.Contains(string(files["NOTICES.txt"]), "\nthe token vocabulary\n\nvocabulary.bin is derived") {
		t.Error("NOTICES.txt lacks the licence of the embedded vocabulary")
	}
	if !strings.Contains(string(files["NOTICES.txt"]), "\nthe table of words\n\nwords.bin is derived") {
		t.Error("NOTICES.txt lacks the licence of the embedded table of words")
	}
	var bom struct {
		BOMFormat  string
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(files["sbom.cdx.json"], &bom); err != nil || bom.BOMFormat != "CycloneDX" {
		t.Fatalf("the SBOM is no SBOM: %v", err)
	}
	for _, c := range bom.Components {
		if c.Name != "std" && !strings.Contains(string(files["NOTICES.txt"]), c.Name+" "+c.Version) {
			t.Errorf("%s %s is in the program without its licence", c.Name, c.Version)
		}
	}
	if len(bom.Components) < 5 {
		t.Errorf("the SBOM lists %d components", len(bom.Components))
	}

	path := filepath.Join(t.TempDir(), program)
	if err := os.WriteFile(path, files[program], 0o755); err != nil {
		t.Fatal(err)
	}
	want, err := version("../..")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := exec.Command(path, "version").Output(); err != nil || strings.TrimSpace(string(got)) != want {
		t.Errorf("the program says its version is %q (%v), want %s", got, err, want)
	}
}

// unpack leaves out the one folder of the archive.
func unpack(t *testing.T, content []byte) map[string][]byte {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if isProgram := name == program; isProgram != (h.Mode == 0o755) {
			t.Errorf("%s has mode %o", name, h.Mode)
		}
		if files[name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}
