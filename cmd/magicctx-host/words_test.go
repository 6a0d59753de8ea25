package main

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/magicctx/magicctx-host/schema"
)

// Texts for users must not contain these words about the implementation.
var ownWords = regexp.MustCompile(`(?i)\b(fold(s|ed|ing)?|epochs?|pass(es)?|compartments?)\b`)

// The texts of these packages are shown to people.
var textPackages = []string{".", "../../internal/config", "../../internal/doctor", "../../internal/format", "../../internal/install", "../../internal/notice", "../../internal/program", "../../internal/rawhistory", "../../internal/replay", "../../internal/status", "../../internal/summary", "../../internal/tool", "../../internal/view", "../../internal/view/page", "../../internal/view/report", "../../internal/words"}

func TestTextsForUsersUseTheirWords(t *testing.T) {
	for _, dir := range textPackages {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				checkSentences(t, file)
			}
		}
	}
	checkLines(t, "../../README.md", true)
	checkLines(t, "../../docs/status.md", false)
	checkDescriptions(t)
}

// checkSentences checks texts that users see: strings that contain a space, and the nouns in calls of Count and Plural.
// It skips log entries and reports of bugs, because only developers read them.
func checkSentences(t *testing.T, file string) {
	t.Helper()
	set := gotoken.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.Field: // a struct tag may contain kong's help text, so it is checked, too
			if f, ok := n.(*ast.Field); ok && f.Tag != nil && strings.Contains(f.Tag.Value, "help:") {
				checkText(t, set, f.Tag)
			}
			return false
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if base, ok := called.X.(*ast.SelectorExpr); ok && base.Sel.Name == "Log" || called.Sel.Name == "Reportf" {
				return false
			}
			if called.Sel.Name == "Count" || called.Sel.Name == "Plural" {
				for _, arg := range n.Args {
					if text, ok := arg.(*ast.BasicLit); ok && ownWords.MatchString(text.Value) {
						t.Errorf("%s: %s", set.Position(text.Pos()), text.Value)
					}
				}
			}
		case *ast.BasicLit:
			checkText(t, set, n)
		}
		return true
	})
}

func checkText(t *testing.T, set *gotoken.FileSet, literal *ast.BasicLit) {
	t.Helper()
	text, err := strconv.Unquote(literal.Value)
	if err == nil && strings.Contains(strings.TrimSpace(text), " ") && ownWords.MatchString(text) {
		t.Errorf("%s: %s", set.Position(literal.Pos()), literal.Value)
	}
}

// checkLines checks the lines of a document, except names of files and functions. If isFirst is set, the reader may not
// have the program on the PATH yet, so the commands must name its directory.
func checkLines(t *testing.T, file string, isFirst bool) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`[^`]*`|[a-z/]+[.]go\\b")
	bare := regexp.MustCompile("(^|`)magicctx-host (status|history|doctor|trace|replay|install|uninstall|schema|memory)")
	for i, line := range strings.Split(string(content), "\n") {
		if isFirst && bare.MatchString(line) {
			t.Errorf("%s:%d: the command does not run without bin/ on the PATH", file, i+1)
		}
		if word := ownWords.FindString(names.ReplaceAllString(line, "")); word != "" {
			t.Errorf("%s:%d: %q", file, i+1, word)
		}
	}
}

func checkDescriptions(t *testing.T) {
	t.Helper()
	content, err := schema.JSONSchema("config")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`"description": "(.*)"`).FindAllSubmatch(content, -1) {
		if ownWords.Match(found[1]) {
			t.Errorf("schema: %s", found[1])
		}
	}
}
