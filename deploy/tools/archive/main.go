// Command archive packs a folder into a .tar.gz or a .zip, so that the same files always give the same bytes.
//
// Usage: archive FOLDER FILE. The archive holds the folder itself, its files in the order of their names, with the
// modes 0755 and 0644, owner root, and the time of SOURCE_DATE_EPOCH.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(args []string, epoch string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: archive FOLDER FILE")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH is %q, and not seconds since 1970", epoch)
	}
	out, err := os.Create(args[1])
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // A second Close does nothing.
	pack := packTar
	if strings.HasSuffix(args[1], ".zip") {
		pack = packZip
	}
	if err := pack(out, args[0], time.Unix(seconds, 0).UTC()); err != nil {
		return err
	}
	return out.Close()
}

// file is a regular file or a folder that goes into an archive.
type file struct {
	path string // The path of the file on the disk.
	name string // The name in the archive. The name of a folder ends with a slash.
	mode fs.FileMode
	size int64
}

// list returns the folder and everything in it, in the order of names.
func list(folder string) ([]file, error) {
	var files []file
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		within, err := filepath.Rel(filepath.Dir(folder), path)
		if err != nil {
			return err
		}
		f := file{path: path, name: filepath.ToSlash(within), mode: 0o644, size: info.Size()}
		switch {
		case entry.IsDir():
			f.name, f.mode, f.size = f.name+"/", fs.ModeDir|0o755, 0
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is neither a file nor a folder", path)
		case info.Mode()&0o111 != 0:
			f.mode = 0o755
		}
		files = append(files, f)
		return nil
	})
	return files, err
}

// copyTo writes the content of a file. A folder has none.
func (f *file) copyTo(w io.Writer) error {
	if f.mode.IsDir() {
		return nil
	}
	in, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // The file was only read.
	_, err = io.Copy(w, in)
	return err
}

func packTar(out io.Writer, folder string, at time.Time) error {
	files, err := list(folder)
	if err != nil {
		return err
	}
	compressed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: f.size, Mode: int64(f.mode.Perm()), ModTime: at, Uname: "root", Gname: "root"}
		if f.mode.IsDir() {
			header.Typeflag = tar.TypeDir
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if err := f.copyTo(archive); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(out io.Writer, folder string, at time.Time) error {
	files, err := list(folder)
	if err != nil {
		return err
	}
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Modified: at, Method: zip.Deflate}
		header.SetMode(f.mode)
		if f.mode.IsDir() {
			header.Method = zip.Store
		}
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if err := f.copyTo(w); err != nil {
			return err
		}
	}
	return archive.Close()
}
