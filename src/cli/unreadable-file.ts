/** A file of manifests that can't be read: by itself, as every command has it among the errors of users, and few read manifests. */
export class UnreadableFile extends Error {}
