package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put makes a file, and the folders that it lies in.
func put(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOnlyMarkedFoldersAreRemoved(t *testing.T) {
	tests := map[string]struct {
		prepare func(t *testing.T, f folder)
		removed bool
		want    string // in the error; "" for none
	}{
		"ours, with all that is in it": {func(t *testing.T, f folder) {
			check(t, f.create(0o700))
			put(t, filepath.Join(f.path, "mysql/hotsku/orders.ibd"))
		}, true, ""},
		"ours, but empty: its maker was killed before it could mark it": {func(t *testing.T, f folder) {
			check(t, os.Mkdir(f.path, 0o700))
		}, true, ""},
		"not there": {func(*testing.T, folder) {}, true, ""},
		"without a marker": {func(t *testing.T, f folder) {
			put(t, filepath.Join(f.path, "thesis.tex"))
		}, false, "does not carry the marker"},
		"with another run's marker": {func(t *testing.T, f folder) {
			check(t, newFolder(f.path).create(0o700))
		}, false, "does not carry the marker"},
		"with a folder for a marker": {func(t *testing.T, f folder) {
			put(t, filepath.Join(f.path, f.marker(), "x"))
		}, false, "does not carry the marker"},
		"a file": {func(t *testing.T, f folder) {
			put(t, f.path)
		}, false, "is not a folder"},
		"a link to a folder": {func(t *testing.T, f folder) {
			put(t, filepath.Join(f.path+"-real", f.marker()))
			check(t, os.Symlink(f.path+"-real", f.path))
		}, false, "is not a folder"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			outside := filepath.Join(t.TempDir(), "outside")
			put(t, outside)
			f := newFolder(filepath.Join(t.TempDir(), "hotsku-x"))
			test.prepare(t, f)
			if info, err := os.Lstat(f.path); err == nil && info.IsDir() && test.removed && len(entries(t, f.path)) > 0 {
				check(t, os.Symlink(filepath.Dir(outside), filepath.Join(f.path, "link")))
			}
			err := f.remove()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("remove() = %v, want %q", err, test.want)
			}
			if _, err := os.Lstat(f.path); (err != nil) != test.removed {
				t.Errorf("after remove: %v; want it removed: %t", err, test.removed)
			}
			if _, err := os.Stat(outside); err != nil {
				t.Errorf("a link was followed: %v", err)
			}
		})
	}
}

func TestAFolderMustBeNewOrEmpty(t *testing.T) {
	f := newFolder(filepath.Join(t.TempDir(), "full"))
	put(t, filepath.Join(f.path, "x"))
	if err := f.create(0o700); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("create() = %v", err)
	}
	if got := entries(t, f.path); len(got) != 1 {
		t.Errorf("the folder was marked: %q", got)
	}
}

func TestTheWardenCleansUpUnlessItIsDismissed(t *testing.T) {
	tests := map[string]struct {
		after   string // what the warden is told after the folder
		removed bool
		failed  bool
	}{
		"the parent was killed":                    {"", true, false},
		"the parent said farewell":                 {"done\n", false, false},
		"the parent took the folder back":          {"forget TOKEN \"PATH\"\n", false, false},
		"the farewell was cut off":                 {"done", true, false},
		"nonsense was said, and the parent killed": {"cheers\n", true, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := newFolder(filepath.Join(t.TempDir(), "x"))
			check(t, f.create(0o700))
			after := strings.NewReplacer("TOKEN", f.token, "PATH", f.path).Replace(test.after)
			err := tend(strings.NewReader(notice{verb: verbFolder, folder: f}.String() + "\n" + after))
			if (err != nil) != test.failed {
				t.Errorf("error %v", err)
			}
			if _, err := os.Stat(f.path); (err != nil) != test.removed {
				t.Errorf("after the end: %v; want it removed: %t", err, test.removed)
			}
		})
	}
}

func TestAGuardedFolderIsKeptWhole(t *testing.T) {
	s := sharedStack(t)
	dir := filepath.Join(t.TempDir(), "run")
	keep, err := s.Warden().Guard(dir)
	check(t, err)
	put(t, filepath.Join(dir, "run.json"))
	if _, err := s.Warden().Guard(dir); err == nil {
		t.Error("a folder in use was guarded again")
	}
	check(t, keep())
	if got := entries(t, dir); len(got) != 1 || got[0] != "run.json" {
		t.Errorf("files: %q", got)
	}
}
