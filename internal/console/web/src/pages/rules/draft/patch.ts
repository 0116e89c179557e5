import { createTwoFilesPatch, FILE_HEADERS_ONLY } from "diff";

/** Returns a unified diff of a file, as `git apply` and `patch -p1` take it. */
export function patchOf(name: string, before: string, after: string): string {
  return createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, "", "", {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  });
}

/** Offers a text to the user as a file to download. */
export function download(name: string, text: string, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a browser reads it a while after the click
}
