package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func (b builder) archive(p platform, manual map[string][]byte) (name string, content []byte, err error) {
	path, err := b.build(p)
	if err != nil {
		return "", nil, err
	}
	files := maps.Clone(manual)
	if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
		return "", nil, err
	}
	for _, text := range []string{"LICENSE", "README.md"} {
		if files[text], err = os.ReadFile(filepath.Join(b.repository, text)); err != nil {
			return "", nil, err
		}
	}
	if files["NOTICES.txt"], err = b.notices(p); err != nil {
		return "", nil, err
	}
	if files["sbom.cdx.json"], err = b.sbom(path, p); err != nil {
		return "", nil, err
	}
	folder := fmt.Sprintf("%s-%s-%s-%s", program, b.version, p.os, p.arch)
	var out bytes.Buffer
	if p.os == "windows" {
		err = writeZip(&out, folder, files)
		return folder + ".zip", out.Bytes(), err
	}
	err = writeTar(&out, folder, files)
	return folder + ".tar.gz", out.Bytes(), err
}

// All files in an archive have this time, so equal files give equal archives.
var modified = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func mode(name string) int64 {
	if strings.TrimSuffix(name, ".exe") == program {
		return 0o755
	}
	return 0o644
}

func writeTar(w io.Writer, folder string, files map[string][]byte) error {
	zipped := gzip.NewWriter(w)
	t := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &tar.Header{Name: folder + "/" + name, Mode: mode(name), Size: int64(len(files[name])), ModTime: modified}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

func writeZip(w io.Writer, folder string, files map[string][]byte) error {
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: folder + "/" + name, Method: zip.Deflate, Modified: modified})
		if err != nil {
			return err
		}
		if _, err := f.Write(files[name]); err != nil {
			return err
		}
	}
	return z.Close()
}
