/* Gives a program that is otherwise made of another compiler's object a language to be linked as.
 */
extern const int lang_nothing;
const int lang_nothing = 0;
