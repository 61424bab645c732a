/** Thrown by the reading of a fact that can't be known: what is built from it stays as it is. */
export class Unreadable extends Error {}

/** … of one that is known in a moment, without anybody doing anything. */
export class NotReadYet extends Unreadable {}

/** … of one that could not be worked out. Whoever works out something from it can't either, and is not to blame. */
export class FailedFact extends Unreadable {}
