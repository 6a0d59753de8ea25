package terminal

import "os"

// Is reports whether f is a terminal. /dev/null is a character device as well, and plugins like
// to pass it as stdin, so it is excluded.
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
func WantsColor(f any) bool { return Is(f) && os.Getenv("NO_COLOR") == "" }
