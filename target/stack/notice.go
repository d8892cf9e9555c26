package stack

import (
	"fmt"
	"strconv"
	"strings"
)

// A notice is one line of what this process tells its warden:
//
//	child PID BIRTH      a process was started
//	ended PID BIRTH      it has ended
//	folder TOKEN "PATH"  a folder is about to be made
//	forget TOKEN "PATH"  it was removed, or is to be kept
//	done                 nothing is left to clean up
//
// A line that was cut off, because its writer was killed, lacks its line feed and is ignored.
type notice struct {
	verb    verb
	process process // of child and ended
	folder  folder  // of folder and forget
}

type verb string

const (
	verbChild  verb = "child"
	verbEnded  verb = "ended"
	verbFolder verb = "folder"
	verbForget verb = "forget"
	verbDone   verb = "done"
)

// String returns the line without its line feed.
func (n notice) String() string {
	switch n.verb {
	case verbChild, verbEnded:
		return fmt.Sprintf("%s %d %s", n.verb, n.process.pid, n.process.birth)
	case verbFolder, verbForget:
		return fmt.Sprintf("%s %s %s", n.verb, n.folder.token, strconv.Quote(n.folder.path))
	}
	return string(n.verb)
}

// parseNotice reads a line without its line feed. It refuses whatever could not be meant: the warden kills and
// removes by these lines.
func parseNotice(line string) (notice, error) {
	word, rest, _ := strings.Cut(line, " ")
	n := notice{verb: verb(word)}
	var err error
	switch n.verb {
	case verbChild, verbEnded:
		n.process, err = parseProcess(rest)
	case verbFolder, verbForget:
		n.folder, err = parseFolder(rest)
	case verbDone:
		if rest != "" {
			err = fmt.Errorf("something follows it")
		}
	default:
		err = fmt.Errorf("no such word")
	}
	if err != nil {
		return notice{}, fmt.Errorf("stack: the warden was told %q: %w", line, err)
	}
	return n, nil
}

func parseProcess(text string) (process, error) {
	number, birth, _ := strings.Cut(text, " ")
	pid, err := strconv.Atoi(number)
	if err != nil || strconv.Itoa(pid) != number {
		return process{}, fmt.Errorf("not a process number: %q", number)
	}
	if pid <= 1 {
		return process{}, fmt.Errorf("%w: number %d", errNotOurs, pid)
	}
	if birth == "" || strings.TrimSpace(birth) != birth {
		return process{}, fmt.Errorf("no time of birth")
	}
	return process{pid, birth}, nil
}

func parseFolder(text string) (folder, error) {
	token, quoted, _ := strings.Cut(text, " ")
	path, err := strconv.Unquote(quoted)
	if err != nil || strconv.Quote(path) != quoted {
		return folder{}, fmt.Errorf("not a quoted path: %q", quoted)
	}
	f := folder{path, token}
	if strings.ContainsFunc(token, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '2' || r > '7') }) {
		return folder{}, fmt.Errorf("not a token: %q", token)
	}
	return f, f.check()
}
