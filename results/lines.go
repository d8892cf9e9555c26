package results

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
)

// maxLine is the greatest length of a line of JSON that is read, in bytes. Those written are under 1 kB.
const maxLine = 1 << 20

// eachLine calls do with every line of r, without its end; the slice is valid until do returns. Errors name the line.
func eachLine(r io.Reader, do func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, bufferSize), maxLine)
	number := 0
	for lines.Scan() {
		number++
		if err := do(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("after line %d: %w", number, err)
	}
	return nil
}

// jsonLines returns a writer of the values as one line of JSON each.
func jsonLines[T any](values []T) func(io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for i := range values {
			if err := e.Encode(&values[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// readJSONLines reads what jsonLines wrote; nil when there are no lines.
func readJSONLines[T any](r io.Reader) (values []T, err error) {
	err = eachLine(r, func(line []byte) error {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return err
		}
		values = append(values, v)
		return nil
	})
	return values, err
}
