package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// bufferSize is that of the buffer before a file.
const bufferSize = 64 << 10

// A disk makes the files of a run. Create is [os.Create], but for tests of a disk that is full.
type disk struct {
	create func(name string) (*os.File, error)
}

// write makes the file name with what content writes, and returns once it is on stable storage. The name of the file is
// in the error.
func (d disk) write(name string, content func(io.Writer) error) (err error) {
	file, err := d.create(name)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if cause, ok := errors.AsType[*os.PathError](err); err != nil && (!ok || cause.Path != name) {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	buffer := bufio.NewWriterSize(file, bufferSize)
	if err := content(buffer); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	return file.Sync()
}

// replace is write under a temporary name and a rename, so that a reader sees the old file or the new one, whole.
func (d disk) replace(name string, content func(io.Writer) error) error {
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".tmp")
	if err := d.write(temporary, content); err != nil {
		return errors.Join(err, removeFile(temporary))
	}
	if err := os.Rename(temporary, name); err != nil {
		return errors.Join(err, removeFile(temporary))
	}
	return syncFolder(filepath.Dir(name))
}

func removeFile(name string) error {
	if err := os.Remove(name); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// syncFolder makes the names in a folder durable.
func syncFolder(name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// document returns a writer of v as one indented JSON document.
func document(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
}

// readDocument reads one JSON document into v. An error names the file, and the line where JSON tells it.
func readDocument(name string, v any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s%s: %w", name, lineOf(text, err), err)
	}
	return nil
}

// lineOf returns ":<line>" for an error of encoding/json that tells its place in text, else "".
func lineOf(text []byte, err error) string {
	var offset int64
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	} else if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = mistyped.Offset
	} else {
		return ""
	}
	offset = min(max(offset, 0), int64(len(text)))
	return fmt.Sprintf(":%d", 1+bytes.Count(text[:offset], []byte("\n")))
}

// zipped compresses what content writes, at the fastest level: a trial must not wait long for its files.
func zipped(content func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			return err
		}
		if err := content(z); err != nil {
			return err
		}
		return z.Close()
	}
}

// readZipped hands the uncompressed content of a file to read. The name of the file is in the error.
func readZipped(name string, read func(io.Reader) error) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	z, err := gzip.NewReader(bufio.NewReaderSize(file, bufferSize))
	if err != nil {
		return err
	}
	if err := read(z); err != nil {
		return err
	}
	return z.Close()
}
