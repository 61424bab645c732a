/** What an API server takes for a field of format `cidr`: Go's older parser, which reads leading zeros as none. Pure. */

const isDotted = (text: string): boolean => {
  const parts = text.split('.');
  return parts.length === 4 && parts.every((part) => /^\d+$/.test(part) && Number(part) <= 255);
};

/** Groups of 16 bits in one side of `::`; NaN when it is none. */
function groupsIn(side: string, isLast: boolean): number {
  if (side === '') return 0;
  const parts = side.split(':');
  const dotted = isLast && isDotted(parts.at(-1) ?? '') ? 1 : 0;
  const groups = dotted === 1 ? parts.slice(0, -1) : parts;
  return groups.every((group) => /^0*[0-9a-f]{1,4}$/i.test(group))
    ? groups.length + 2 * dotted
    : Number.NaN;
}

function isColoned(text: string): boolean {
  const sides = text.split('::');
  const groups = sides.reduce(
    (sum, side, index) => sum + groupsIn(side, index === sides.length - 1),
    0,
  );
  return sides.length === 2 ? groups <= 7 : sides.length === 1 && groups === 8;
}

/** `10.0.0.1/8`, `fd00::/64`; host bits may be set, an IPv4 address may be written as an IPv6 one. */
export function isCidrFormat(text: string): boolean {
  const slash = text.indexOf('/');
  if (slash < 0) return false;
  const [address, length] = [text.slice(0, slash), text.slice(slash + 1)];
  const longest = isDotted(address) ? 32 : isColoned(address) ? 128 : -1;
  return /^\d+$/.test(length) && Number(length) <= longest;
}
