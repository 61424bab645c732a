/** For tests of programs that use the client: a server that is a script, in the same process. */
import '../node-floor.ts';
export { scriptedTransport, type ScriptedPeer, type ScriptedServer } from './scripted-transport.ts';
