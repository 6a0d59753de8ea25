package terminal

import (
	"cmp"
	"os"
	"strings"
)

// Is reports whether f is a terminal. Plugins often pass /dev/null as stdin. It is a character device like a terminal,
// but Is returns false for it.
func Is(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// WantsColor reports whether output to f should have colours.
func WantsColor(f any) bool {
	return Is(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// IsASCII reports whether f is a terminal whose locale has a character set other than UTF-8, for example "C". Many
// containers set no locale; IsASCII assumes UTF-8 there.
func IsASCII(f any) bool {
	locale := strings.ToLower(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return Is(f) && locale != "" && !strings.Contains(locale, "utf-8") && !strings.Contains(locale, "utf8")
}
