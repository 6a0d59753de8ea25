package recall

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A name is a word for one thing, for example a file, a symbol or an error code.
type name struct {
	text string
	kind nameKind
}

type nameKind uint8

const (
	aPath nameKind = iota
	aSymbol
	aCommand
)

// namePattern matches a text in back-ticks, or a word with the characters of names.
var namePattern = regexp.MustCompile("`[^`\n]{2,100}`" + `|[A-Za-z0-9_@./~$-]*[A-Za-z0-9_/*]`)

func namesIn(text string) (all []name) {
	add := func(n name) {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	for _, word := range namePattern.FindAllString(text, -1) {
		if quoted, ok := strings.CutPrefix(word, "`"); ok {
			word = strings.TrimSuffix(quoted, "`")
			switch {
			case strings.Contains(word, " "):
				if c := commandOf(word); c != "" {
					add(name{c, aCommand})
				}
				for _, n := range namesIn(word) {
					add(n)
				}
				continue
			case isPath(word):
				add(name{cleanPath(word), aPath})
				continue
			case len(word) >= 3 && strings.ContainsFunc(word, unicode.IsLetter):
				add(name{strings.TrimSuffix(word, "()"), aSymbol})
				continue
			}
		}
		word = strings.Trim(word, "-@$~")
		switch {
		case isPath(word):
			add(name{cleanPath(word), aPath})
		case isSymbol(word):
			add(name{word, aSymbol})
		}
	}
	return all
}

// The pattern `extension` matches the end of a file's name, but not "e.g" or versions.
var extension = regexp.MustCompile(`[A-Za-z0-9_-]{2,}\.(?:[a-z]{1,4}[0-9]?|json[lc]?|toml|proto|swift|scala|svelte|astro|patch|lock|mdx|ya?ml|gradle|graphql|tfvars)$`)

var dotless = []string{"Makefile", "Dockerfile", "Taskfile", "Justfile", "Procfile", "Jenkinsfile", "Gemfile", "Rakefile", "Vagrantfile", "CODEOWNERS"}

func isPath(word string) bool {
	base := path.Base(word)
	switch {
	case strings.Contains(word, "//") || strings.HasPrefix(word, "@"):
		return false
	case slices.Contains(dotless, base):
		return true
	case extension.MatchString(base):
		return !slices.Contains(notFiles, strings.ToLower(base)) && !strings.Contains(word, "()")
	}
	// The word is a directory, for example "internal/gen" or "migrations/", unless it is a common pair of words such as
	// "and/or".
	inner := strings.Trim(word, "/")
	return len(inner) > 2 && (strings.HasSuffix(word, "/") || strings.Count(inner, "/") >= 1) && strings.ContainsFunc(inner, unicode.IsLetter) && !slices.Contains(notDirectories, strings.ToLower(inner))
}

var (
	notFiles       = []string{"node.js", "next.js", "vue.js", "nuxt.js", "three.js", "d3.js", "asp.net", "socket.io", "github.com", "example.com", "vs.code"}
	notDirectories = []string{"and/or", "read/write", "client/server", "input/output", "yes/no", "on/off", "true/false", "tcp/ip", "ci/cd", "he/she", "his/her", "pass/fail", "http/2", "http/1", "either/or", "i/o", "a/b", "n/a", "w/o", "24/7"}
)

func cleanPath(p string) string { return strings.TrimPrefix(path.Clean(p), "./") }

// A word with an inner capital, an underscore, or digits after letters is a symbol, because people do not write
// other words like this.
func isSymbol(word string) bool {
	if len(word) < 4 || !strings.ContainsFunc(word, unicode.IsLetter) || strings.Contains(word, "/") {
		return false
	}
	if strings.Contains(strings.Trim(word, "_"), "_") {
		return true
	}
	letters, digits := 0, false
	last := rune(0)
	for _, r := range word {
		switch {
		case unicode.IsLetter(r):
			if unicode.IsUpper(r) && unicode.IsLower(last) {
				return true
			}
			letters++
		case unicode.IsDigit(r):
			digits = digits || letters >= 2 || letters >= 1 && unicode.IsUpper([]rune(word)[0])
		}
		last = r
	}
	return digits && !version.MatchString(word)
}

var version = regexp.MustCompile(`^(?i:v?\d+(\.\d+)*[a-z]?|\d+(ms|s|m|h|k|kb|mb|gb|px|x|st|nd|rd|th)|(utf|sha|md|base|int|uint|float|x|amd|arm|h|mp|http)-?\d+|python\d(\.\d+)?|go1\.\d+)$`)

// The first argument of these programs says what they do.
var withSubcommand = []string{
	"go", "git", "npm", "pnpm", "yarn", "bun", "cargo", "make", "just", "task", "docker", "kubectl", "helm", "terraform", "poetry", "pip", "uv",
	"gradle", "gradlew", "mvn", "bundle", "rails", "mix", "dotnet", "composer", "deno", "npx", "bazel", "gh", "aws", "gcloud", "flyctl", "heroku", "alembic", "python", "python3", "node", "ruby", "systemctl",
	"docker-compose", "nix", "rake", "swift", "flutter", "sbt", "lerna", "nx", "turbo", "ansible-playbook", "manage.py", "artisan", "php", "sh", "bash",
}

// These words stand between a program and its subcommand, for example "exec" in "npm exec vitest".
var beforeSubcommand = []string{"run", "exec", "compose", "-m", "x", "tool", "dlx"}

// glance lists programs such as ls and cat. People make no rules about them, mostly because these programs only read.
var glance = []string{"ls", "cat", "cd", "echo", "pwd", "head", "tail", "grep", "rg", "find", "sed", "awk", "wc", "which", "true", "test", "printf", "sort", "export", "sleep", "mkdir", "date"}

// commandOf returns the part of a command line that says what it does. For "cd web && CI=1 npm run lint --fix"
// this is "npm run lint". If all programs are in glance, it returns "".
func commandOf(line string) string {
	for _, part := range commandSeparator.Split(line, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (assignmentWord.MatchString(words[0]) || slices.Contains([]string{"sudo", "time", "env", "timeout", "nice", "command"}, words[0])) {
			words = words[1:]
		}
		if len(words) == 0 || slices.Contains(glance, words[0]) {
			continue
		}
		program := strings.TrimPrefix(words[0], "./")
		if strings.ContainsAny(program, "<>{}()=;\"'") || !strings.ContainsFunc(program, unicode.IsLetter) {
			continue
		}
		kept := []string{program}
		if slices.Contains(withSubcommand, path.Base(program)) {
			for _, w := range words[1:] {
				isFlag := strings.HasPrefix(w, "-") && !slices.Contains(beforeSubcommand, w)
				if isFlag || strings.ContainsAny(w, "<>|&;\"'$(){}") {
					if len(kept) > 1 {
						break
					}
					continue
				}
				kept = append(kept, strings.TrimPrefix(w, "./"))
				if !slices.Contains(beforeSubcommand, w) {
					break
				}
			}
			if len(kept) == 1 && path.Base(program) != "make" && path.Base(program) != "task" && path.Base(program) != "just" {
				continue
			}
		}
		return strings.Join(kept, " ")
	}
	return ""
}

var (
	commandSeparator = regexp.MustCompile(`&&|\|\||;|\||\n`)
	assignmentWord   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// The pattern `common` matches the names of files that most directories have. Such a name alone does not identify a
// file.
var common = regexp.MustCompile(`(?i)^(index|main|mod|lib|app|readme|package|package-lock|config|utils?|types?|helpers?|constants|makefile|dockerfile|setup|__init__|conftest|go|cargo|tsconfig|schema|doc|test|tests|style|styles|settings|server|client|router?|routes|models?|views?|urls|errors?|common|base|core|api|store|page|layout)\.?[a-z]*$`)

// The function `means` reports whether a statement about the name `said` is also a statement about the name `used`. For
// example, a rule about the command "npm run" is about "npm run lint", too.
func means(said, used name) bool {
	switch {
	case said.kind == aPath && used.kind == aPath:
		return meansPath(said.text, used.text)
	case said.kind == aPath || used.kind == aPath:
		return false
	case used.kind == aCommand && said.kind == aCommand:
		return said.text == used.text || strings.HasPrefix(used.text, said.text+" ") || strings.HasPrefix(said.text, used.text+" ")
	}
	return said.text == used.text
}

func meansPath(said, used string) bool {
	if said == used {
		return true
	}
	if path.Ext(said) == "" && !slices.Contains(dotless, path.Base(said)) { // a directory
		said = strings.TrimSuffix(strings.TrimSuffix(said, "*"), "/")
		return strings.HasPrefix(used, said+"/") || strings.Contains(said, "/") && strings.Contains(used, "/"+said+"/")
	}
	if common.MatchString(path.Base(said)) && !strings.Contains(said, "/") {
		return false // used has a directory that the statement does not name
	}
	if strings.HasSuffix(used, "/"+said) {
		return true
	}
	return strings.HasSuffix(said, "/"+used) && !common.MatchString(path.Base(used))
}
