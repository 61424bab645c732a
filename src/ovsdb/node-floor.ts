/** Imported first by every entry point: an older Node.js would fail somewhere in the middle, over a method that it lacks. */

/** As `engines` in package.json says. */
const FLOOR = 22;

/** Why a Node.js of this version can't run the client, if so. */
const belowFloor = (version: string): string | undefined =>
  Number(version.split('.')[0]) >= FLOOR
    ? undefined
    : `the OVSDB client needs Node.js ${FLOOR} or newer, and this is ${version}`;

const problem = belowFloor(process.versions.node);
if (problem !== undefined) throw new Error(problem);
