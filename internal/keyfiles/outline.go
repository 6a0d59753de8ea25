package keyfiles

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"

	"github.com/magicctx/magicctx-host/internal/secret"
)

const (
	maxLines = 60
	maxLine  = 160
)

// languages maps each file extension to its outliner. For Go, the standard library has a parser. For the other
// languages, there is no parser in pure Go: a highlighter (chroma) adds 6 MB, and finds no function in TypeScript.
// But in these languages, a declaration begins a line, so a pattern finds it.
var languages = map[string]func([]byte) []string{
	".go": ofGo,
	".py": script, ".pyi": script, ".rb": script, ".lua": script, ".ex": script, ".exs": script,
	".js": web, ".jsx": web, ".mjs": web, ".cjs": web, ".ts": web, ".tsx": web, ".mts": web, ".cts": web,
	".rs":   lines(regexp.MustCompile(`^\s*(?:pub(?:\([^)]*\))? )?(?:default |async |unsafe |const |extern "[^"]*" )*(?:fn|struct|enum|union|trait|impl|mod|type|macro_rules!)[ <]`)),
	".java": classes, ".kt": classes, ".cs": classes, ".swift": classes, ".scala": classes, ".php": classes, ".dart": classes,
	".c": native, ".h": native, ".cc": native, ".cpp": native, ".cxx": native, ".hpp": native, ".m": native,
	".sh": shell, ".bash": shell, ".zsh": shell,
	".sql": lines(regexp.MustCompile(`(?i)^create (?:or replace )?(?:temp |temporary |unique |virtual |materialized )*(?:table|view|index|trigger|function|procedure|type)\b`)),
}

var (
	script  = lines(regexp.MustCompile(`^\s*(?:(?:async )?def|defp?|class|module|defmodule|(?:local )?function)\s+[\w.:]+`))
	web     = lines(regexp.MustCompile(`^(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|enum|namespace|const|let) [\w$]+|^\s+(?:(?:public|private|protected|static|override|readonly|abstract|async|get|set) )*[#\w$]+(?:<[^(]*>)?\([^;]*\{\s*$`))
	classes = lines(regexp.MustCompile(`^\s*(?:(?:public|private|protected|internal|open|sealed|abstract|static|final|override|data|suspend|inline|async|partial|virtual|export|fileprivate|mutating) )*(?:class|interface|enum|record|struct|protocol|extension|object|trait|fun|func|function|def|namespace|mixin) [\w.<]+|^\s+(?:(?:public|private|protected|internal|static|final|abstract|override|virtual|async|synchronized) )+[\w<>\[\],.? ]+\([^;]*$`))
	native  = lines(regexp.MustCompile(`^(?:typedef |template\b|namespace |(?:enum |struct |class |union )+\w+[^;]*$|#define \w+\(|[A-Za-z_][\w:<>,*&~ \t]*[\w*&>~] ?\*?[\w:~]+\([^;]*$|@(?:interface|implementation|protocol) )|^[-+] ?\(`))
	shell   = lines(regexp.MustCompile(`^(?:function )?[\w-]+ ?\(\)|^function [\w-]+`))
)

// control matches a line that begins with a word such as `if` or `return`. Such a line declares nothing.
var control = regexp.MustCompile(`^\s*(?:if|for|while|switch|catch|return|else|do|with|await|new|throw)\b`)

// The pattern `value` matches a declaration with a value. An outline shows only the part in the first group, without
// the value.
var value = regexp.MustCompile(`^(\s*(?:export )?(?:declare )?(?:const|let|type) [\w$]+)\b.*`)

// The function `lines` returns an outliner that keeps each line that matches the pattern, but without a "{" or ":" at
// its end.
func lines(pattern *regexp.Regexp) func([]byte) []string {
	return func(source []byte) (kept []string) {
		for line := range strings.Lines(string(source)) {
			if len(line) > 10*maxLine || !pattern.MatchString(line) || control.MatchString(line) {
				continue
			}
			line = strings.TrimRight(line, " \t\r\n{:")
			kept = append(kept, value.ReplaceAllString(strings.ReplaceAll(line, "\t", "  "), "$1"))
		}
		return kept
	}
}

// If the source has mistakes, ofGo outlines the part that a parser understands.
func ofGo(source []byte) (kept []string) {
	files := token.NewFileSet()
	file, _ := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if file == nil {
		return nil
	}
	text := func(from, to token.Pos) string {
		start, end := files.Position(from).Offset, files.Position(to).Offset
		if start < 0 || end > len(source) || start >= end {
			return ""
		}
		return strings.Join(strings.Fields(string(source[start:end])), " ")
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			kept = append(kept, text(d.Pos(), d.Type.End()))
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					kept = append(kept, "type "+ofType(s, text))
				case *ast.ValueSpec:
					for _, name := range s.Names {
						if name.IsExported() {
							kept = append(kept, d.Tok.String()+" "+name.Name)
						}
					}
				}
			}
		}
	}
	return kept
}

// A short definition is shown in full.
func ofType(s *ast.TypeSpec, text func(from, to token.Pos) string) string {
	switch t := s.Type.(type) {
	case *ast.StructType:
		return text(s.Pos(), t.Struct) + " struct"
	case *ast.InterfaceType:
		return text(s.Pos(), t.Interface) + " interface"
	}
	return text(s.Pos(), s.End())
}

// joined joins the lines of an outline, and removes credentials. If there are no lines, the result is empty.
func joined(all []string) string {
	more := ""
	if n := len(all) - maxLines; n > 0 {
		all, more = all[:maxLines], fmt.Sprintf("… and %d more", n)
	}
	var b strings.Builder
	for _, line := range all {
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + "…"
		}
		if strings.TrimSpace(line) != "" {
			b.WriteString(line + "\n")
		}
	}
	return strings.TrimRight(secret.Redact(b.String())+more, "\n")
}
