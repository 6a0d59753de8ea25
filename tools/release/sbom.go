package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom lists the modules that Go has recorded in the program. The list has the format CycloneDX.
func (b builder) sbom(path string, p platform) ([]byte, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	doc := cdx.NewBOM()
	doc.Metadata = &cdx.Metadata{Component: &cdx.Component{
		BOMRef: module, Type: cdx.ComponentTypeApplication, Name: program, Version: b.version,
		PackageURL: fmt.Sprintf("pkg:golang/%s@%s?goos=%s&goarch=%s", module, b.version, p.os, p.arch),
	}}
	components := []cdx.Component{{
		BOMRef: "go", Type: cdx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion,
		PackageURL: "pkg:golang/std@" + info.GoVersion,
	}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := fmt.Sprintf("pkg:golang/%s@%s", m.Path, m.Version)
		components = append(components, cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url})
	}
	doc.Components = &components
	var out bytes.Buffer
	err = cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(doc)
	return out.Bytes(), err
}
