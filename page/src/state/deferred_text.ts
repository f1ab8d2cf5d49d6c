// What somebody types, once they pause: the server is not asked for every letter.
import { useEffect, useState } from "preact/hooks";

const PAUSE_MS = 150;

export function useDeferredText(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}
