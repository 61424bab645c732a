/** Bytes that are no message, or none of the kind that was to be read. Nothing was done with any part of them. */
export class MalformedMessage extends Error {
  readonly code = 'NETLINK_MALFORMED';
}
