package logfile

import (
	"fmt"
	"os"
	"sync"
)

// When a log file would become larger than maxBytes, it is renamed. It replaces the file that was renamed before it, so
// at most two files exist.
const maxBytes = 10 << 20

// A File is a log file. It keeps one older log file beside the current one, and is safe for concurrent use.
type File struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

func Open(path string) (*File, error) {
	l := &File{path: path}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

func (l *File) open() error {
	if info, err := os.Stat(l.path); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return fmt.Errorf("%s is a named pipe, and opening it would wait for its reader", l.path)
	}
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Each call of Write must carry one whole line.
func (l *File) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size > 0 && l.size+int64(len(line)) > maxBytes {
		if err := l.rotate(); err != nil {
			return 0, fmt.Errorf("rotate log: %w", err)
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *File) rotate() error {
	l.file.Close() // Windows cannot rename an open file
	if err := os.Rename(l.path, l.path+".1"); err != nil && !os.IsNotExist(err) {
		return err
	}
	return l.open()
}

func (l *File) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}
