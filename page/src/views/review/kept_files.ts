// Files that the person called right as they are. The next attempt is told to leave them unchanged.
import { useState } from "preact/hooks";

export interface KeptFiles {
  files: ReadonlySet<string>;
  toggle: (path: string, isKept: boolean) => void;
}

export function useKeptFiles(review: string): KeptFiles {
  const key = `binnacle.right-files.${review}`;
  const [files, setFiles] = useState<ReadonlySet<string>>(() => readFiles(key));
  const toggle = (path: string, isKept: boolean) => {
    const next = new Set(files);
    if (isKept) next.add(path);
    else next.delete(path);
    setFiles(next);
    if (review) sessionStorage.setItem(key, JSON.stringify([...next]));
  };
  return { files, toggle };
}

function readFiles(key: string): ReadonlySet<string> {
  try {
    const saved: unknown = JSON.parse(sessionStorage.getItem(key) ?? "[]");
    return new Set(Array.isArray(saved) ? saved.filter((one) => typeof one === "string") : []);
  } catch {
    return new Set();
  }
}
