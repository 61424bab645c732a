/** Names of files for networks, whatever these are called. Pure. */
const LONGEST = 80;

/** A name of its own for each: letters, digits, `-`, `_` and inner dots of the network's name, with a number where that is not enough. */
export function fileNames(networks: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set(['index']);
  return new Map(
    networks.map((network) => {
      const plain = network
        .replaceAll(/[^\w.-]/g, '_')
        .replace(/^\.+/, '_')
        .slice(0, LONGEST);
      let name = plain;
      // File systems may ignore case.
      for (let at = 2; taken.has(name.toLowerCase()); at += 1) name = `${plain}-${at}`;
      taken.add(name.toLowerCase());
      return [network, name];
    }),
  );
}
