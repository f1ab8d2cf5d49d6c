// The styles of a group of views, which come with its code.

const loading = new Map<string, Promise<void>>();

/** Resolves when the style sheet is in force. */
export function loadStyle(address: string): Promise<void> {
  const known = loading.get(address);
  if (known) return known;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = address;
  const loaded = new Promise<void>((resolve, reject) => {
    link.onload = () => resolve();
    link.onerror = () => {
      loading.delete(address);
      reject(new Error(`cannot load ${address}`));
    };
  });
  document.head.append(link);
  loading.set(address, loaded);
  return loaded;
}
