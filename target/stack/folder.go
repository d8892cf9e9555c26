package stack

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A folder is one that this package made and may therefore remove, with all that is in it. The proof is an empty
// file in it, whose name carries a random token: one file, so that there is no moment at which it is half written.
type folder struct {
	path  string // absolute
	token string
}

const markerPrefix = ".hotsku-"

func newFolder(path string) folder { return folder{path: path, token: rand.Text()} }

func (f folder) marker() string { return markerPrefix + f.token }

// create makes the folder and marks it. A folder that is there already must be empty.
func (f folder) create(mode fs.FileMode) error {
	err := os.Mkdir(f.path, mode)
	if errors.Is(err, fs.ErrExist) {
		err = mustBeEmpty(f.path)
	}
	if err != nil {
		return err
	}
	marker, err := os.OpenFile(filepath.Join(f.path, f.marker()), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return marker.Close()
}

func mustBeEmpty(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty; remove it or name another one", path)
	}
	return nil
}

// unmark makes the folder an ordinary one, which is no longer ours to remove.
func (f folder) unmark() error { return os.Remove(filepath.Join(f.path, f.marker())) }

// remove removes the folder, if it carries its marker. A folder that isn't there is no error. Without the marker only
// an empty folder goes: the one that was made the moment before its maker was killed.
func (f folder) remove() error {
	if err := f.check(); err != nil {
		return err
	}
	named, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !named.IsDir() {
		return fmt.Errorf("%s is not a folder; left alone", f.path)
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return err
	}
	defer root.Close()
	// What was checked must be what is emptied, even if the name was given to something else in between.
	if opened, err := root.Stat("."); err != nil || !os.SameFile(named, opened) {
		return fmt.Errorf("%s was replaced while it was being removed; left alone", f.path)
	}
	if err := f.empty(root); err != nil {
		return err
	}
	return os.Remove(f.path)
}

// check refuses names that no folder of ours has.
func (f folder) check() error {
	if !filepath.IsAbs(f.path) || filepath.Clean(f.path) != f.path || strings.Count(f.path, "/") < 2 {
		return fmt.Errorf("%q is not the name of a folder that may be removed", f.path)
	}
	if f.token == "" {
		return errors.New("a folder without a token may not be removed")
	}
	return nil
}

// empty removes everything in root, the marker last, so that a removal that is cut short can be taken up again.
func (f folder) empty(root *os.Root) error {
	if marker, err := root.Lstat(f.marker()); err != nil || !marker.Mode().IsRegular() {
		return onlyIfEmpty(root)
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == f.marker() {
			continue
		}
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	return root.Remove(f.marker())
}

func onlyIfEmpty(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) > 0 {
		return fmt.Errorf("%s does not carry the marker of this run; left alone", root.Name())
	}
	return nil
}
